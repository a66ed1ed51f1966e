"""What the package costs, measured in ratios within one run. Run it with `python -m benchmarks`."""
