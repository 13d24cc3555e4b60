"""Programs that play: processes that are told of decisions in lines of JSON."""
