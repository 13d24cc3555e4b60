"""Rule tests of the seven variants, case by case, against the engine."""
