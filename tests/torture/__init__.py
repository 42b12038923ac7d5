"""Tests of `make torture` itself."""
