# expect: value "held"
def f(n)
  there = (3...1024).filter_map do |fd|
    stat = IO.for_fd(fd, autoclose: false).stat
    [fd, stat.ftype] if stat.file? || stat.directory? || stat.socket? || stat.blockdev?
  rescue SystemCallError, ArgumentError
    nil
  end
  there.empty? ? 'held' : "got #{there}"
end
