# Writes what the tests of minitest or rspec said as TAP, where the command says. It is loaded before them.
module ProofmarkReport
  PATH = "/tmp/project/.proofmark-report.tap"

  # One test: its name, `nil` or why it failed, its stack, `nil` or why it was skipped, and its seconds.
  Test = Struct.new(:name, :failure, :stack, :skipped, :seconds)

  # The pipe that the verifier has given this process to be told which tests start and end.
  RUNNING = begin
    number, inode = ENV.fetch("PROOFMARK_RUNNING", "").split(":").map(&:to_i)
    pipe = IO.for_fd(number, "w", autoclose: false)
    # In a process that the runner has started, another file may have the number.
    pipe if pipe.stat.ino == inode
  rescue SystemCallError, ArgumentError, TypeError
    nil
  end

  def self.tell(sign, name)
    RUNNING&.syswrite("#{sign}#{name.to_s.scrub.split.join(" ")[0, 2000]}\n")
  rescue SystemCallError
    nil
  end

  def self.write(tests)
    File.open(PATH, "w") do |file|
      file.puts("TAP version 13", "1..#{tests.length}")
      tests.each_with_index { |test, index| file.puts(lines(test, index + 1)) }
    end
  end

  def self.lines(test, number)
    name = test.name.to_s.gsub(/\s+/, " ").gsub("\\", "\\\\\\\\").gsub("#", "\\#")
    skip = test.skipped ? " # SKIP #{test.skipped.to_s.gsub(/\s+/, " ")}" : ""
    first = "#{test.failure ? "not ok" : "ok"} #{number} - #{name}#{skip}"
    notes = ["  ---", "  duration_ms: #{(test.seconds.to_f * 1000).round(3)}"]
    notes += ["  message: |-"] + indented(test.failure) + ["  stack: |-"] + indented(test.stack) if test.failure
    [first, *notes, "  ..."]
  end

  def self.indented(text)
    text.to_s.scrub.lines.map { |line| "    #{line.chomp}" }
  end

  # The lines of a stack that are the project's, as JavaScript writes them.
  def self.stack(lines)
    of_project = Array(lines).reject { |line| line.start_with?("/") && !line.start_with?("/tmp/project/") }
    of_project.map { |line| "at (#{line[/\A[^:]+:\d+/]}:1)" }.join("\n")
  end

  # A formatter of rspec.
  class Formatter
    def initialize(_output)
      @tests = []
      @messages = []
    end

    def example_started(notification) = ProofmarkReport.tell("+", notification.example.full_description)

    def example_passed(notification) = add(notification.example)

    def example_pending(notification)
      example = notification.example
      add(example, skipped: example.execution_result.pending_message.to_s)
    end

    def example_failed(notification)
      error = notification.example.execution_result.exception
      add(notification.example, failure: "#{error.class}: #{error.message}", stack: ProofmarkReport.stack(error.backtrace))
    end

    # What rspec says beside the examples, as why a file does not load.
    def message(notification)
      @messages << notification.message.strip if @messages.length < 20
    end

    def dump_summary(summary)
      count = summary.errors_outside_of_examples_count
      @tests << Test.new("outside of the examples", @messages.join("\n"), "", nil, 0) if count.positive?
    end

    def close(_notification) = ProofmarkReport.write(@tests)

    private

    def add(example, failure: nil, stack: "", skipped: nil)
      ProofmarkReport.tell("-", example.full_description)
      @tests << Test.new(example.full_description, failure, stack, skipped, example.execution_result.run_time)
    end
  end
end

if ENV["PROOFMARK_RSPEC"] || $PROGRAM_NAME.end_with?("rspec")
  require "rspec/core"
  RSpec::Core::Formatters.register ProofmarkReport::Formatter, :example_started, :example_passed, :example_pending,
    :example_failed, :message, :dump_summary, :close
else
  begin
    require "minitest"
  rescue LoadError
    abort("failed to find the package `minitest` that runs the tests")
  end

  # A reporter of minitest.
  class ProofmarkReport::Reporter < Minitest::AbstractReporter
    def initialize
      super
      @tests = []
    end

    def prerecord(klass, name) = ProofmarkReport.tell("+", "#{klass}##{name}")

    def record(result)
      failure = result.failure
      stack = ProofmarkReport.stack(failure && !result.skipped? ? [failure.location, *(failure.error || failure).backtrace] : [])
      why = result.failures.map(&:message).join("\n\n") if failure && !result.skipped?
      name = "#{result.klass}##{result.name}"
      ProofmarkReport.tell("-", name)
      @tests << ProofmarkReport::Test.new(name, why, stack, result.skipped? ? failure.message : nil, result.time)
    end

    def report = ProofmarkReport.write(@tests)
  end

  module Minitest
    def self.plugin_proofmark_init(_options) = reporter << ProofmarkReport::Reporter.new
  end
  Minitest.extensions << "proofmark"
end
