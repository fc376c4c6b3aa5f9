"""The main job: a real model trained on real data on every backend, side by side."""
