# expect: value "forged" | no_answer
# A forged answer is an answer like any other: it is compared outside.
def f(n)
  64.times do |fd|
    IO.for_fd(fd, 'wb', autoclose: false).syswrite("V\"forged\"\n")
  rescue StandardError
    nil
  end
  exit!(0)
end
