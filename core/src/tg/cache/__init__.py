"""Disk caches of backends, kept between processes."""
