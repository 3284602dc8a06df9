"""The arithmetic behind the metric kinds: counts of drawn units in, one value per resample and policy out."""
