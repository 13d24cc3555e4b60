"""The benchmark `noms-benchmark/1`: what is measured, how, and against whom."""
