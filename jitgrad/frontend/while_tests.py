def merge_while_tests(blocks):
    return False
