"""The wire contract, sans-IO: bytes and plain data in, typed structs out."""
