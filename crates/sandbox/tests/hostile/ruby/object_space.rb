# expect: value "held"
# Neither what is expected nor anything of the host is in the process.
def f(n)
  secret = 'the-secret-of-' + 'the-host'
  strings = ObjectSpace.each_object(String).select { |text| text.include?(secret) && !text.equal?(secret) }
  tried('strings' => -> { strings.reject { |text| text.include?('def f') }.any? },
        'environment' => -> { ENV.to_h.inspect.include?(secret) },
        'names' => -> { (ENV.keys - %w[PATH HOME TMPDIR LANG LC_ALL TZ PYTHONHASHSEED UV_THREADPOOL_SIZE OPENSSL_CONF]).any? },
        'rest of the job' => -> { !IO.for_fd(3, 'rb', autoclose: false).read.empty? })
end
