"""Ops and functions of signals: convolutions, windows, filters, spectra."""
