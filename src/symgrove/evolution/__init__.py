"""Evolution: the one loop, when it stops, what it records, how it is resumed. It knows no method."""
