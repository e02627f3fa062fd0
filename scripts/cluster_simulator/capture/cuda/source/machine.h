/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The GPUs of a process, their streams, and what is to be done on them.
 *
 * A stream does its works one after another. Each has a simulated time: it begins when the one
 * before it has ended, when it was issued, or when what it waits for has happened, whichever is
 * last. Nothing runs by itself: works are done as far as they can be whenever one is added, and
 * whenever the coordinator tells something. One mutex is over all.
 */
#ifndef CUDA_MACHINE_H
#define CUDA_MACHINE_H

#include "memory.h"
#include "settings.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpus
{

struct Stream;

enum class Ran : uint8_t
{
    kDone,
    kWaits,   ///< for another stream, or another rank
    kCallback ///< the program has to be called
};

class Work
{
  public:
    virtual ~Work() = default;
    /// Called when it is the first of its stream, and until it is done; then Stream::ready is its
    /// end.
    virtual Ran Run(Stream& stream) = 0;

    Time issued = 0;
    std::function<void()> callback; ///< of the program
};

/// A moment on a stream: what an event was recorded at.
struct Moment
{
    uint64_t number = 0; ///< for the record
    bool reached = false;
    Time at = 0;
};

/// What a stream was given while it was captured: done again by each launch.
struct Graph
{
    std::vector<std::function<void(Stream*)>> issues;
};

struct Gpu;

struct Stream
{
    Gpu* gpu = nullptr;
    int number = 0;       ///< on its GPU; 0: the default stream
    bool blocking = true; ///< waits for the default stream, and that for it
    int priority = 0;
    unsigned flags = 0;
    std::deque<std::unique_ptr<Work>> works;
    Time ready = 0;      ///< the end of what is done
    uint64_t issued = 0; ///< works so far
    bool isCalling = false;
    std::shared_ptr<Graph> captured; ///< not null: it is being captured
    bool captureBegan = false;       ///< here; else it joined by an event

    // Between a stream and the default one: how many works of the other it has waited for.
    uint64_t sawDefault = 0;
    uint64_t seenByDefault = 0;
};

struct Event
{
    unsigned flags = 0;
    std::shared_ptr<Moment> moment;  ///< where it was last recorded; null: nowhere
    std::shared_ptr<Graph> captured; ///< it was recorded on a stream that is captured
};

struct Gpu
{
    int number = 0; ///< of the server
    std::vector<std::unique_ptr<Stream>> streams;
    int nextStream = 0;
};

class Machine
{
  public:
    /// Of this process; the first call connects to the coordinator. Ends the program if it was not
    /// started by a capture.
    static Machine& Get();

    using Lock = std::unique_lock<std::mutex>;
    std::mutex mutex;

    // ---- with the mutex held:

    Gpu& CurrentGpu();
    Gpu& GpuAt(int ordinal);
    /// Null: there is no such stream.
    Stream* Find(void* handle);
    Stream* NewStream(unsigned flags, int priority);
    void Destroy(Stream* stream);

    /// What `issue` adds to the stream happens now, or whenever the graph is launched that the
    /// stream is being captured for.
    void Issue(Stream* stream, std::function<void(Stream*)> issue);
    /// Adds a work, behind what the default stream's rules ask for.
    void Add(Stream* stream, std::unique_ptr<Work> work);
    /// Adds one that takes so long; `effect`, which may be empty, is what it does.
    void AddTimed(Stream* stream, Time duration, std::function<void()> effect);
    std::shared_ptr<Moment> RecordMoment(Stream* stream);
    void WaitFor(Stream* stream, std::shared_ptr<Moment> moment);
    void AddCallback(Stream* stream, std::function<void()> callback);
    /// Does what can be done.
    void Progress(Lock& lock);
    /// Waits until `done`; the host's clock is then at what it returns in `until`.
    void WaitUntil(Lock& lock, const std::function<bool(Time* until)>& done);
    /// A program that asks whether something is done: not more often than needed.
    void WaitShortly(Lock& lock);

    void Synchronize(Lock& lock, Stream* stream);
    void SynchronizeGpu(Lock& lock, Gpu& gpu);
    bool IsIdle(const Stream& stream) const;

    Memory& memory()
    {
        return m_memory;
    }

    /// Lines of the coordinator go there.
    void Listen(std::function<bool(const std::vector<std::string>&, Lock&)> take);

  private:
    Machine();
    void Take(const std::string& line);
    void Follow(Stream* stream);
    void Queue(Stream* stream, std::unique_ptr<Work> work);

    Memory m_memory;
    std::vector<Gpu> m_gpus; ///< of the server
    std::condition_variable m_changed;
    std::vector<Stream*> m_busy;
    uint64_t m_moments = 0;
    uint64_t m_taken = 0; ///< lines of the coordinator
    std::vector<std::function<bool(const std::vector<std::string>&, Lock&)>> m_listeners;
};

/// The GPU that the calling thread has chosen, as the program counts them.
int& CurrentOrdinal();

/// Says something once in the whole job; it stands in the capture's notes.
void Note(const std::string& text);

} // namespace gpus

#endif // CUDA_MACHINE_H
