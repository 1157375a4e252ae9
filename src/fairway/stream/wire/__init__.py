"""What travels over gRPC: two protocols, from which `make protos` makes the modules beside them."""
