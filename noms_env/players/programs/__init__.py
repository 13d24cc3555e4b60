"""Programs as players: processes that receive decisions as lines of JSON."""
