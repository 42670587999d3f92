# Runs the cases of a job in the sandbox. Reads the job from descriptor 3 and writes one line a case to descriptor 4:
# the value it got, or how it failed. It knows nothing of expected values. Its names are local to a lambda, and the
# methods it walks a value with are taken before the submission is loaded, which may redefine them.
require 'set'

lambda do
  special = /["\\\x00-\x1f]/
  text_limit = 2000
  causes = 3
  cause_limit = 200
  types_limit = 16
  type_limit = 64
  depth_limit = 120
  is_a = Module.instance_method(:===)
  class_of = Kernel.instance_method(:class)
  name_of = Module.instance_method(:name)
  ancestors_of = Module.instance_method(:ancestors)
  method_of = Kernel.instance_method(:method)
  integer_text = Integer.instance_method(:to_s)
  float_text = Float.instance_method(:to_s)
  symbol_text = Symbol.instance_method(:to_s)
  each_item = Array.instance_method(:each)
  each_pair = Hash.instance_method(:each_pair)
  each_member = Set.instance_method(:each)
  compile = RubyVM::InstructionSequence.method(:compile)
  exit_now = Process.method(:exit!)
  flush = IO.instance_method(:flush)
  streams = [STDOUT, STDERR]
  # So that what was printed before a case was killed is there.
  STDOUT.sync = true
  output = IO.for_fd(4, 'wb')
  write = output.method(:syswrite)

  quoted = ->(text) { %("#{text.match?(special) ? text.gsub(special) { |char| format('\u%04x', char.ord) } : text}") }
  hex = ->(text) { text[0, text_limit].unpack1('H*') }
  type_name = ->(value) { "#{name_of.bind_call(class_of.bind_call(value)) || 'object'}" }
  floats = { 'NaN' => 'nan', 'Infinity' => 'inf', '-Infinity' => '-inf' }

  # The text in UTF-8, where a string is text.
  text_of = lambda do |string|
    return string if string.encoding.equal?(Encoding::UTF_8) && string.valid_encoding?
    string.encode(Encoding::UTF_8) if string.ascii_only?
  end

  string = lambda do |value|
    plain = "#{value}"
    text = text_of.(plain)
    text ? quoted.(text) : %({"b":"#{plain.unpack1('H*')}"})
  end

  symbol = lambda do |value|
    text = text_of.(symbol_text.bind_call(value))
    text ? %({"y":#{quoted.(text)}}) : '{"x":"Symbol"}'
  end

  encode = lambda do |value, depth|
    raise RangeError, "value nested deeper than #{depth_limit}" if depth > depth_limit
    inside = ->(item) { encode.(item, depth + 1) }
    case_of = ->(type) { is_a.bind_call(type, value) }
    if case_of.(NilClass) then 'null'
    elsif case_of.(TrueClass) then 'true'
    elsif case_of.(FalseClass) then 'false'
    elsif case_of.(Integer) then integer_text.bind_call(value)
    elsif case_of.(Float)
      text = float_text.bind_call(value)
      %({"f":"#{floats.fetch(text, text)}"})
    elsif case_of.(String) then string.(value)
    elsif case_of.(Symbol) then symbol.(value)
    elsif case_of.(Array)
      items = []
      each_item.bind_call(value) { |item| items << inside.(item) }
      "[#{items.join(',')}]"
    elsif case_of.(Hash)
      pairs = []
      each_pair.bind_call(value) { |key, item| pairs << "[#{inside.(key)},#{inside.(item)}]" }
      %({"d":[#{pairs.join(',')}]})
    elsif case_of.(Set)
      members = []
      each_member.bind_call(value) { |member| members << inside.(member) }
      %({"s":[#{members.join(',')}]})
    else
      %({"x":#{quoted.(type_name.(value)[0, 200])}})
    end
  end

  # What an exception says, with a line for each exception that led to it.
  said = lambda do |error|
    lines = ["#{error.message}"[0, text_limit].sub(/\Asubmission\.rb:\d+: /, '')]
    causes.times do
      error = error.cause
      break unless error
      lines << "caused by #{type_name.(error)}: #{"#{error.message}"[0, cause_limit]}"
    end
    lines.join("\n")
  end

  # The line of the submission where it failed; 0 where there is none.
  last_line = lambda do |error|
    return "#{error.message}"[/\Asubmission\.rb:(\d+)/, 1].to_i if error.is_a?(SyntaxError)
    place = error.backtrace_locations&.find { |at| at.path == 'submission.rb' }
    place ? place.lineno : 0
  end

  failure = lambda do |error, called|
    types = called ? ancestors_of.bind_call(class_of.bind_call(error)).first(types_limit) : []
    names = types.map { |type| name_of.bind_call(type) }.compact.map { |name| hex.(name[0, type_limit]) }
    ["E#{hex.(type_name.(error))}", hex.(said.(error)), Integer(last_line.(error)).abs, *names].join(' ')
  rescue Exception
    "E#{hex.('Exception')} #{hex.('an exception that cannot be shown')} 0"
  end

  # A case ends without the interpreter's own end, so what waits in these is written here. The submission may have closed them.
  flush_all = lambda do
    streams.each { |stream| flush.bind_call(stream) }
  rescue Exception
    nil
  end

  # `prepare` returns what is to be called; only what that raises is an exception of the call.
  answer = lambda do |prepare|
    called = false
    line =
      begin
        run = prepare.call
        called = true
        value = run.call
        called = false
        String.new('V') << encode.(value, 0)
      rescue Exception => error
        failure.(error, called)
      end
    line << "\n"
    line.force_encoding(Encoding::BINARY)
    line = line.byteslice(write.call(line)..) until line.empty?
  end

  evaluate = ->(text, scope) { eval("#{text}\n", scope, 'input.rb') }
  load_source = ->(source) { eval(source, TOPLEVEL_BINDING, 'submission.rb') }

  # A class or another constant, or a local variable of the submission's main program.
  named = lambda do |name|
    if name.match?(/\A[A-Z]/) then Object.const_get(name) if Object.const_defined?(name)
    elsif TOPLEVEL_BINDING.local_variables.include?(name.to_sym) then TOPLEVEL_BINDING.local_variable_get(name)
    end
  end

  function = lambda do |name|
    main = TOPLEVEL_BINDING.receiver
    target =
      begin
        method_of.bind_call(main, name)
      rescue NameError
        nil
      end
    target = nil if target && [Kernel, BasicObject].include?(target.owner)
    target ||= named.(name)
    raise NameError, "the submission defines no method `#{name}`" unless target
    is_a.bind_call(Class, target) ? target.method(:new) : target
  end

  method_in = lambda do |owner_name, name, construct|
    owner = named.(owner_name)
    raise NameError, "the submission defines no `#{owner_name}`" if owner.nil?
    is_class = is_a.bind_call(Class, owner)
    construct ||= { args: [], kwargs: {} } if is_class && !owner.singleton_methods.include?(name.to_sym)
    owner = owner.new(*construct[:args], **construct[:kwargs]) if construct
    raise NoMethodError, "`#{owner_name}` has no method `#{name}`" unless owner.respond_to?(name)
    owner.public_method(name)
  end

  # Arguments by name have symbols as their keys, and those inside other arguments strings.
  by_name = ->(given) { { args: given['args'], kwargs: given['kwargs'].to_h { |key, value| [key.to_sym, value] } } }

  call = lambda do |source, name, given|
    require 'json'
    given = JSON.parse(given, max_nesting: false)
    given = { 'args' => given, 'kwargs' => {} } if given.is_a?(Array)
    construct = given['construct']&.then(&by_name)
    given = by_name.(given)
    load_source.(source)
    first, method = name.split('.')
    target = method ? method_in.(first, method, construct) : function.(name)
    -> { target.call(*given[:args], **given[:kwargs]) }
  end

  expression = lambda do |source, text|
    load_source.(source)
    # An expression that cannot be read raises nothing.
    compile.call(text)
    -> { evaluate.(text, TOPLEVEL_BINDING) }
  end

  head, rest = IO.for_fd(3, 'rb').read.split("\n".b, 2)
  mode, *lengths = head.split(' ')
  at = 0
  pieces = lengths.map do |length|
    at += Integer(length)
    rest.byteslice(at - Integer(length), Integer(length)).force_encoding(Encoding::UTF_8)
  end
  case mode
  when 'pristine' then pieces.each { |text| answer.(-> { -> { evaluate.(text, TOPLEVEL_BINDING.dup) } }) }
  when 'call' then answer.(-> { call.(*pieces) })
  else answer.(-> { expression.(*pieces) })
  end
  flush_all.call
  exit_now.call(0)
end.call
