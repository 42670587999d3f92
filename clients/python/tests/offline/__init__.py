"""Tests of offline verification."""
