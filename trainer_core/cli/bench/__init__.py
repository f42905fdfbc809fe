"""`dmglab bench`: measurements of speed and memory, one file for each verb."""
