"""Convolutions as loops: what meets what, images with zeros around them, and the sums of products."""
