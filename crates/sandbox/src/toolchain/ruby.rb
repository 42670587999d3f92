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
  max_calls = 64
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

  # An expression is evaluated in a process without the submission (`clean`). There the names of the submission are calls,
  # whose results are given to it. Where one is not known yet, it says which calls there are, and the process of the
  # submission makes them (`calls`). Both write plain data: values that are whole without their identity.

  # Whether nothing of a value is lost where it is written; `seen` gets all arrays, hashes and sets in it.
  is_plain = lambda do |value, seen|
    kind = class_of.bind_call(value)
    next true if [NilClass, TrueClass, FalseClass, Integer, Float].include?(kind)
    next value.encoding == Encoding::UTF_8 && value.valid_encoding? if kind.equal?(String)
    next !text_of.(symbol_text.bind_call(value)).nil? if kind.equal?(Symbol)
    next false unless [Array, Hash, Set].include?(kind) && !seen.key?(value)
    seen[value] = true
    next false if kind.equal?(Hash) && (!value.default.nil? || value.default_proc || value.compare_by_identity?)
    items = kind.equal?(Hash) ? value.to_a.flatten(1) : value.to_a
    items.all? { |item| is_plain.(item, seen) }
  end

  decode = lambda do |value|
    next value.map(&decode) if is_a.bind_call(Array, value)
    next value unless is_a.bind_call(Hash, value)
    tag, content = value.first
    case tag
    when 'f' then { 'nan' => Float::NAN, 'inf' => Float::INFINITY, '-inf' => -Float::INFINITY }.fetch(content) { Float(content) }
    when 'y' then content.to_sym
    when 's' then content.map(&decode).to_set
    when 'd' then content.to_h { |key, item| [decode.(key), decode.(item)] }
    else raise ArgumentError, 'unknown tag'
    end
  end

  parse = ->(text) { decode.(JSON.parse(text, max_nesting: 2 * depth_limit)) }

  call_one = lambda do |name, given, named|
    main = TOPLEVEL_BINDING.receiver
    return 'Sn' if given.empty? && named.empty? && TOPLEVEL_BINDING.local_variables.include?(name.to_sym)
    both = [given, named]
    before = encode.(both, 0)
    mine, theirs = {}.compare_by_identity, {}.compare_by_identity
    is_plain.(both, mine)
    frame =
      begin
        value = main.__send__(name, *given, **named)
        begin
          is_plain.(value, theirs) ? "V#{encode.(value, 0)}" : 'Sr'
        rescue Exception
          'Sr'
        end
      rescue Exception => error
        failure.(error, true)
      end
    is_same =
      begin
        encode.(both, 0) == before && theirs.each_key.none? { |object| mine.key?(object) }
      rescue Exception
        false
      end
    is_same || frame == 'Sr' ? frame : "M#{frame}"
  end

  # The calls in one process, one after another, up to the first past those that are certain that has no result.
  calls = lambda do |source, certain, *texts|
    require 'json'
    wanted = texts.map(&parse)
    begin
      load_source.(source)
    rescue Exception => error
      return "L#{failure.(error, false)}"
    end
    frames = []
    wanted.each do |one|
      frames << call_one.(*one)
      break if frames.length > Integer(certain) && !frames.last[0, 2].include?('V')
    end
    frames.join("\t")
  end

  # What the expression may rescue, of the type that comes first of those that are not the submission's own.
  native_error = lambda do |frame|
    _, text, _, *names = frame[1..].split(' ').map { |part| [part].pack('H*').force_encoding(Encoding::UTF_8) }
    types = names.map { |name| Object.const_get(name) if name.match?(/\A[A-Z]\w*\z/) && Object.const_defined?(name) }
    type = types.find { |found| is_a.bind_call(Class, found) && found <= Exception } || StandardError
    begin
      type.new(text.split("\ncaused by ").first)
    rescue ArgumentError, TypeError
      StandardError.new(text)
    end
  end

  # The value of an expression, or the calls that it is made of.
  clean = lambda do |text, *known|
    require 'json'
    begin
      compile.call(text)
    rescue Exception => error
      return failure.(error, false)
    end
    leaves = Class.new(Exception)
    made, thrown, certain, why = [], [], 0, nil
    # What decides would decide by the stand-in of a result that is not known.
    decides = text.match?(/&&|\|\|| \? |\b(?:if|unless|and|or|not|while|until|case|when|rescue|loop)\b/)
    binds = text.match?(/->|\|[^|]*\||(?<![=!<>])=(?![=~>])|\b(?:do|proc|lambda|def|_1)\b/)
    leave = lambda do |reason|
      why ||= reason
      raise leaves
    end
    # Stands for the result of a call that is not known yet, and for what is computed from it.
    pending = Class.new(BasicObject) do
      define_method(:method_missing) { |*, **| self }
      define_method(:respond_to_missing?) { |*| true }
      define_method(:==) { |_| self }
      define_method(:!=) { |_| self }
      define_method(:!) { ::Kernel.raise leaves }
    end
    has_pending = ->(value) { pending === value || (Array === value && value.any?(&has_pending)) || (Hash === value && value.values.any?(&has_pending)) }

    known_result = lambda do |frame|
      if frame.start_with?('M')
        leave.('m') if binds
        frame = frame[1..]
      end
      leave.('r') if frame.start_with?('S')
      if frame.start_with?('E')
        error = native_error.(frame)
        thrown << [error, frame]
        raise error
      end
      begin
        raise ArgumentError unless frame.start_with?('V')
        parse.(frame[1..])
      rescue JSON::ParserError, ArgumentError, TypeError, KeyError, NoMethodError
        leave.('b')
      end
    end

    result_of = lambda do |name, given, named, block|
      leave.('f') if has_pending.(given) || has_pending.(named)
      leave.('a') if block || !is_plain.([given, named], {}.compare_by_identity)
      made << encode.([name.to_s, given, named], 0)
      leave.('k') if made.length > max_calls
      index = made.length - 1
      if certain == index && known[2 * index] == made.last
        certain += 1
        known_result.(known[2 * index + 1])
      elsif decides
        raise leaves
      else
        pending.new
      end
    end

    main = Object.new
    main.define_singleton_method(:method_missing) { |name, *given, **named, &block| result_of.(name, given, named, block) }
    main.define_singleton_method(:respond_to_missing?) { |*| false }
    libraries = { JSON: 'json', Date: 'date', DateTime: 'date', Time: 'time', BigDecimal: 'bigdecimal', StringIO: 'stringio', Digest: 'digest' }
    Module.define_method(:const_missing) do |name|
      leave.('n') unless libraries.key?(name) && equal?(Object)
      require libraries[name]
      Object.const_get(name)
    end
    begin
      value = evaluate.(text, main.instance_eval { binding })
      if why then why == 'b' ? 'B' : "S#{why}"
      elsif certain < made.length then "C#{certain}\t#{made.join("\t")}"
      elsif made.empty? then 'S0'
      else "V#{encode.(value, 0)}"
      end
    rescue Exception => error
      found = thrown.find { |one, _| one.equal?(error) }
      if why then why == 'b' ? 'B' : "S#{why}"
      elsif certain < made.length then "C#{certain}\t#{made.join("\t")}"
      elsif found then found.last
      elsif made.empty? then 'S0'
      else failure.(error, true)
      end
    end
  end

  write_line = lambda do |line|
    line = "#{line}\n".force_encoding(Encoding::BINARY)
    line = line.byteslice(write.call(line)..) until line.empty?
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
  when 'clean' then write_line.(clean.(*pieces))
  when 'calls' then write_line.(calls.(*pieces))
  when 'call' then answer.(-> { call.(*pieces) })
  else answer.(-> { expression.(*pieces) })
  end
  flush_all.call
  exit_now.call(0)
end.call
