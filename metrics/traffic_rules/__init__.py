"""Traffic rules read from signs and tied to lanes, as the MapDR benchmark scores them."""
