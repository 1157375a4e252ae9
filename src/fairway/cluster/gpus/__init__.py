"""GPUs: the devices of every node and who has which share of them, typical pods, and how fragmented it all is."""
