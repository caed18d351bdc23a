"""Benchmarks of the reports against bare operations of the engines and other libraries."""
