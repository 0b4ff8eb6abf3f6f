"""Operations of sub-groups and work-groups."""
