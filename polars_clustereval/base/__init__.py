"""base: what every metric stands on."""
