# expect: memory_limit | output_limit | no_answer
# The value grows while it is written down.
grown = []
class Growing(type):
    @property
    def __name__(cls):
        grown.extend([make(), make()])
        return "g" * 100
def make():
    return Growing("G", (), {})()
def f(n):
    grown.append(make())
    return grown
