"""Search on a trained policy: what its actions come to in sampled worlds that the policy plays out (`player`)."""
