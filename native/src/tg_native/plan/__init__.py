"""Plan lengths, strides, views and memory of every array before code is written."""
