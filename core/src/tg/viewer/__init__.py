"""Programs in a browser: `tg.view` writes one HTML file that shows a program through the phases of its rewriting."""
