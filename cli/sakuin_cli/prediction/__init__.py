"""What golden questions answer after a change of pages, without a deployment of the change."""
