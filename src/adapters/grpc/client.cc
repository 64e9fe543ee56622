#include "adapters/grpc/client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <deque>
#include <utility>

#include "adapters/grpc/channel.h"
#include "adapters/grpc/server.h"
#include "base/backoff.h"
#include "base/text.h"
#include "base/version.h"
#include "wire/convert.h"
#include "wire/event_check.h"
#include "wire/faultline.grpc.pb.h"

namespace faultline {
namespace {

constexpr std::size_t batch_bytes_target =
    256 * 1024;  // well below message_bytes_max, and small in the agent's memory
constexpr std::size_t batch_events_target = 2048;
constexpr std::size_t rulings_kept_max = 256;
constexpr Duration certificate_interval =
    std::chrono::hours{24};  // between two warnings of its end
constexpr Duration heartbeat_deadline = std::chrono::seconds{2};
constexpr Duration status_deadline =
    std::chrono::seconds{1};  // for the reason, once the stream is broken

gpr_timespec from_now(Duration duration) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(duration.count(), GPR_TIMESPAN));
}

/// One stream and all that gRPC needs for it; broken once, it is thrown away. gRPC runs only inside
/// pump().
class Connection {
 public:
  Connection(ControllerAddress controller, std::shared_ptr<grpc::Channel> channel)
      : controller_(std::move(controller)),
        channel_(std::move(channel)),
        stub_(v1::Controller::NewStub(channel_)) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Connects, says Hello and waits for the welcome.
  Status open(const std::string& node, const AgentIdentity& who, Duration deadline);
  /// The answer to one batch. The message is in outgoing().
  Result<v1::Ack> exchange(std::uint64_t seq, Duration deadline);
  /// Returns when the message in outgoing() has left.
  Status write(Duration deadline);
  /// Takes in what has arrived, without waiting.
  void poll();
  [[nodiscard]] bool broken() const { return broken_; }
  v1::AgentMessage& outgoing() { return out_; }
  /// Why it broke.
  Error reason();

  std::deque<Uplink::Ruling> rulings;
  CounterValues counters_told;  // on this stream

 private:
  enum Tag : std::uintptr_t { started = 1, written, received, finished };

  static void* tag(Tag value) { return reinterpret_cast<void*>(value); }
  bool pump(gpr_timespec deadline);
  void handle(Tag tag, bool ok);
  void take_message();
  template <class Condition>
  Status wait(Condition condition, Duration deadline, std::string_view what);

  const ControllerAddress controller_;
  grpc::CompletionQueue queue_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Controller::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::AgentMessage, v1::ControllerMessage>> io_;
  v1::AgentMessage out_;
  v1::ControllerMessage in_;
  grpc::Status status_;
  std::optional<v1::Ack> ack_;
  bool started_ = false;
  bool welcomed_ = false;
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
};

Connection::~Connection() {
  context_.TryCancel();
  queue_.Shutdown();
  // A cancelled call gives back all its operations, so this ends.
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) continue;
}

bool Connection::pump(gpr_timespec deadline) {
  void* got = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&got, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  handle(static_cast<Tag>(reinterpret_cast<std::uintptr_t>(got)), ok);
  return true;
}

void Connection::handle(Tag tag_value, bool ok) {
  switch (tag_value) {
    case started:
      started_ = ok;
      if (!ok) broken_ = true;
      if (ok) io_->Read(&in_, tag(received));
      return;
    case written:
      writing_ = false;
      if (!ok) broken_ = true;
      return;
    case received:
      if (!ok) {
        broken_ = true;
        return;
      }
      take_message();
      io_->Read(&in_, tag(received));
      return;
    case finished: finished_ = true; return;
  }
}

void Connection::take_message() {
  switch (in_.body_case()) {
    case v1::ControllerMessage::kWelcome: welcomed_ = true; return;
    case v1::ControllerMessage::kAck: ack_ = in_.ack(); return;
    case v1::ControllerMessage::kRuling: {
      const auto& ruling = in_.ruling();
      rulings.push_back(
          {{ruling.attempt().job(), ruling.attempt().restart()}, ruling.final(), ruling.text()});
      if (rulings.size() > rulings_kept_max) rulings.pop_front();
      return;
    }
    case v1::ControllerMessage::BODY_NOT_SET: return;  // of a newer controller
  }
}

template <class Condition>
Status Connection::wait(Condition condition, Duration deadline, std::string_view what) {
  const gpr_timespec until = from_now(deadline);
  while (!condition() && !broken_) {
    if (!pump(until)) {
      // Whatever comes now comes too late: the answer could belong to the next question.
      broken_ = true;
      context_.TryCancel();
      return Error{ErrorCode::deadline_exceeded, "controller " + controller_.address + ": no " +
                                                     std::string(what) + " within " +
                                                     to_text(deadline)};
    }
  }
  return condition() ? ok_status() : Status(reason());
}

Error Connection::reason() {
  if (!finished_ && io_) {
    io_->Finish(&status_, tag(finished));
    const gpr_timespec until = from_now(status_deadline);
    while (!finished_ && pump(until)) continue;
    if (!finished_)
      return {ErrorCode::unavailable,
              "controller " + controller_.address + ": the stream is broken"};
  }
  Error error = error_of(status_, controller_);
  // That would mean that an event is at fault, and cost it.
  if (error.code == ErrorCode::invalid_argument) error.code = ErrorCode::permission_denied;
  return error;
}

Status Connection::open(const std::string& node, const AgentIdentity& who, Duration deadline) {
  io_ = stub_->PrepareAsyncReport(&context_, &queue_);
  io_->StartCall(tag(started));
  FAULTLINE_TRY(wait([this] { return started_; }, deadline, "connection"));
  auto& hello = *out_.mutable_hello();
  hello.set_protocol(protocol_version);
  hello.set_node(node);
  hello.set_program_version(std::string(kVersion));
  hello.set_host(who.host);
  hello.set_boot_id(who.boot_id);
  hello.set_state(who.state);
  FAULTLINE_TRY(write(deadline));
  return wait([this] { return welcomed_; }, deadline, "welcome");
}

Status Connection::write(Duration deadline) {
  writing_ = true;
  io_->Write(out_, tag(written));
  return wait([this] { return !writing_; }, deadline, "room to send");
}

Result<v1::Ack> Connection::exchange(std::uint64_t seq, Duration deadline) {
  ack_.reset();
  FAULTLINE_TRY(write(deadline));
  FAULTLINE_TRY(wait([this, seq] { return ack_ && ack_->seq() == seq; }, deadline, "answer"));
  return *ack_;
}

void Connection::poll() {
  while (!broken_ && pump(gpr_inf_past(GPR_CLOCK_MONOTONIC))) continue;
}

}  // namespace

// --- the uplink

class GrpcUplink::Impl {
 public:
  Impl(GrpcUplinkOptions given, const Clock& clock, Rng rng, Counters& counters)
      : options_(std::move(given)),
        clock_(clock),
        counters_(counters),
        backoff_(options_.backoff_first, options_.backoff_longest, rng) {}

  void introduce(const AgentIdentity& who) { who_ = who; }
  Status send(const std::vector<Event>& events, Duration deadline);
  Status heartbeat(Instant now, const CounterValues& counters);
  std::vector<Ruling> take_rulings();

 private:
  Status ready(Duration deadline);
  Status connect(Duration deadline);
  Error lost(const Error& error);
  void warn_of_its_end(Duration left);
  Status send_batch(Duration deadline);
  /// Fills the connection's outgoing batch from events[first], returns the index after the last one
  /// taken.
  std::size_t fill_batch(const std::vector<Event>& events, std::size_t first);
  void collect_rulings();
  void warn(const std::string& text) const {
    if (options_.warn) options_.warn(text);
  }

  const GrpcUplinkOptions options_;
  AgentIdentity who_;
  const Clock& clock_;
  Counters& counters_;
  Backoff backoff_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t seq_ = 0;
  Duration opened_at_{0};
  Duration next_attempt_{0};
  Duration next_send_{0};  // later than now after the controller said that it is overloaded
  std::optional<Error> last_failure_;
  std::optional<Duration> certificate_warned_at_;
  std::deque<Ruling> rulings_;
  std::deque<Ruling> rulings_seen_;  // a new stream tells again what an old one told
};

Status GrpcUplink::Impl::ready(Duration deadline) {
  if (connection_) {
    connection_->poll();
    if (!connection_->broken()) return ok_status();
    return lost(connection_->reason());
  }
  const Duration now = clock_.monotonic();
  if (now < next_attempt_) return *last_failure_;
  return connect(std::min(deadline, options_.connect_deadline));
}

Status GrpcUplink::Impl::connect(Duration deadline) {
  counters_.add("uplink_connects_total");
  auto channel = open_channel(options_.controller, clock_.now());
  if (!channel) return lost(channel.error());
  if (options_.controller.tls) warn_of_its_end(channel->certificate_left);
  connection_ =
      std::make_unique<Connection>(options_.controller, std::move(channel).value().channel);
  opened_at_ = clock_.monotonic();
  seq_ = 0;
  if (const Status opened = connection_->open(options_.node, who_, deadline); !opened)
    return lost(opened.error());
  counters_.add("uplink_connections_total");
  return ok_status();
}

void GrpcUplink::Impl::warn_of_its_end(Duration left) {
  const Duration now = clock_.monotonic();
  const bool said = certificate_warned_at_ && now - *certificate_warned_at_ < certificate_interval;
  if (left >= options_.certificate_warning || said) return;
  certificate_warned_at_ = now;
  warn(options_.controller.tls->certificate + " ends in " + to_text(left));
}

/// Gives the connection up and says when the next one may be tried.
Error GrpcUplink::Impl::lost(const Error& error) {
  counters_.add("uplink_failures_total");
  const Duration now = clock_.monotonic();
  if (connection_) {
    collect_rulings();
    // A stream that held for long was fine: its end is no continuation of the failures before it.
    if (now - opened_at_ >= options_.backoff_longest) backoff_.reset();
    connection_.reset();
  }
  next_attempt_ = now + backoff_.next();
  last_failure_ = error;
  return error;
}

std::size_t GrpcUplink::Impl::fill_batch(const std::vector<Event>& events, std::size_t first) {
  auto& batch = *connection_->outgoing().mutable_batch();
  batch.Clear();
  batch.set_seq(++seq_);
  std::size_t bytes = 0;
  std::size_t next = first;
  for (; next < events.size() && bytes < batch_bytes_target; ++next) {
    if (static_cast<std::size_t>(batch.events_size()) >= batch_events_target) break;
    // What the controller would refuse is not worth the way, and if it is too large it would break
    // the stream for ever.
    if (const Status checked = check_event(events[next]); !checked) {
      counters_.add("uplink_events_refused_total");
      warn("event dropped: " + checked.error().message);
      continue;
    }
    auto& message = *batch.add_events();
    event_to_wire(events[next], message);
    bytes += message.ByteSizeLong();
  }
  return next;
}

Status GrpcUplink::Impl::send_batch(Duration deadline) {
  const auto ack = connection_->exchange(seq_, deadline);
  if (!ack) return lost(ack.error());
  if (!ack->stored()) {
    const auto code = ack->overloaded() ? ErrorCode::exhausted : ErrorCode::unavailable;
    next_send_ = clock_.monotonic() + backoff_.next();
    return Error{code, "controller " + options_.controller.address +
                           " did not store: " + printable(ack->reason(), 400)};
  }
  backoff_.reset();
  if (ack->refused() > 0) {
    counters_.add("uplink_events_refused_total", ack->refused());
    warn("controller refused " + std::to_string(ack->refused()) +
         " events: " + printable(ack->reason(), 400));
  }
  return ok_status();
}

Status GrpcUplink::Impl::send(const std::vector<Event>& events, Duration deadline) {
  const Duration started = clock_.monotonic();
  const auto left = [&] {
    return std::max(Duration{0}, deadline - (clock_.monotonic() - started));
  };
  FAULTLINE_TRY(ready(deadline));
  if (started < next_send_) {
    return Error{ErrorCode::exhausted, "the controller had too much to do; next attempt in " +
                                           to_text(next_send_ - started)};
  }
  for (std::size_t next = 0; next < events.size();) {
    next = fill_batch(events, next);
    if (connection_->outgoing().batch().events_size() == 0) continue;
    FAULTLINE_TRY(send_batch(left()));
  }
  return ok_status();
}

Status GrpcUplink::Impl::heartbeat(Instant now, const CounterValues& counters) {
  FAULTLINE_TRY(ready(heartbeat_deadline));
  auto& beat = *connection_->outgoing().mutable_heartbeat();
  beat.Clear();  // the message is used again
  beat.set_agent_now_ns(now.time_since_epoch().count());
  for (const auto& [name, value] : counters) {
    const auto told = connection_->counters_told.try_emplace(name, 0).first;
    if (std::exchange(told->second, value) == value) continue;
    auto& counter = *beat.add_counters();
    counter.set_name(name);
    counter.set_value(value);
  }
  if (const Status written = connection_->write(heartbeat_deadline); !written)
    return lost(written.error());
  return ok_status();
}

void GrpcUplink::Impl::collect_rulings() {
  for (auto& ruling : connection_->rulings) {
    const auto same = [&](const Ruling& seen) {
      return seen.attempt == ruling.attempt && seen.final == ruling.final &&
             seen.text == ruling.text;
    };
    if (std::find_if(rulings_seen_.begin(), rulings_seen_.end(), same) != rulings_seen_.end())
      continue;
    rulings_seen_.push_back(ruling);
    rulings_.push_back(std::move(ruling));
    if (rulings_seen_.size() > rulings_kept_max) rulings_seen_.pop_front();
    if (rulings_.size() > rulings_kept_max) rulings_.pop_front();
  }
  connection_->rulings.clear();
}

std::vector<Uplink::Ruling> GrpcUplink::Impl::take_rulings() {
  if (connection_) {
    connection_->poll();
    collect_rulings();
  }
  std::vector<Ruling> taken(std::make_move_iterator(rulings_.begin()),
                            std::make_move_iterator(rulings_.end()));
  rulings_.clear();
  return taken;
}

GrpcUplink::GrpcUplink(GrpcUplinkOptions options, const Clock& clock, Rng rng, Counters& counters)
    : impl_(std::make_unique<Impl>(std::move(options), clock, rng, counters)) {}
GrpcUplink::~GrpcUplink() = default;
void GrpcUplink::introduce(const AgentIdentity& who) { impl_->introduce(who); }
Status GrpcUplink::send(const std::vector<Event>& events, Duration deadline) {
  return impl_->send(events, deadline);
}
Status GrpcUplink::heartbeat(Instant now, const CounterValues& counters) {
  return impl_->heartbeat(now, counters);
}
std::vector<Uplink::Ruling> GrpcUplink::take_rulings() { return impl_->take_rulings(); }

// --- a person's call

Result<PersonAnswer> operate(const ControllerAddress& controller, RequestKind kind,
                             const std::string& target, const Clock& clock, Duration deadline) {
  const auto channel = open_channel(controller, clock.now());
  if (!channel) return channel.error();
  const auto stub = v1::Controller::NewStub(channel->channel);
  grpc::ClientContext context;
  context.set_deadline(from_now(deadline));
  v1::OperatorRequest message;
  message.set_protocol(protocol_version);
  message.set_request(std::string(to_text(kind)));
  message.set_target(target);
  v1::OperatorReply reply;
  const grpc::Status status = stub->Operate(&context, message, &reply);
  if (!status.ok()) return error_of(status, controller);
  return parse_answer(printable(reply.text(), 4096));
}

}  // namespace faultline
