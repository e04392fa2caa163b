"""What the searches of pages and of Tables share: ranking, calibration, vectors, index versions."""
