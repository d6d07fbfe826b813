def draw_lines(*a):
    return ""
