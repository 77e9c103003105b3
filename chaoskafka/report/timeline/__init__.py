"""What happened when, as lanes and lines on one axis of seconds: pure values, which HTML and trace files draw."""
