"""The winner for production: settings that compose back, a trained model, a SavedModel, and the evidence for them."""
