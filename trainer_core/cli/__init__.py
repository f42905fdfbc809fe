"""`dmglab`: thin shells. Parse, call one function, print one JSON object, return 0 or 1."""
