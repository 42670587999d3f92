# expect: value "forged" | no_answer
require 'rbconfig'
def f(n) = exec(RbConfig.ruby, '--disable=all', '-e', 'IO.for_fd(4, "wb").syswrite("V\"forged\"\n")', 4 => 4)
