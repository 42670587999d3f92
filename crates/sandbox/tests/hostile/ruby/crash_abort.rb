# expect: signal 6
def f(n) = Process.kill(:ABRT, Process.pid) && sleep
