"""The probe of trained transformers on Wikipedia: its tables, figures and what they rest on."""
