"""What backends keep on disk between processes."""
