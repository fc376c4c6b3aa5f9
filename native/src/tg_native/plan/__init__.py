"""What is known of every array before code is written: lengths, strides, views, and which memory it has."""
