/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the program can know of how far its GPUs' streams are. Nothing takes time while a script is
 * captured, so it is not asked whether a kernel has ended, but whether it must have: the program
 * waited for it (synchronize, a blocking copy, a value that is read), or for what waits for it.
 *
 *   stream 3    kernels | ticket 1 | kernels   event e       the program waits for stream 0:
 *                                                 \          so ticket 1 of stream 3 has passed
 *   stream 0                     kernels   wait for e
 *
 * That the program is never further ahead of its GPUs than a step is assumed: with a step's end all
 * of it has passed.
 */
#ifndef CAPTURE_STREAM_ORDER_H
#define CAPTURE_STREAM_ORDER_H

#include <cstdint>
#include <map>

namespace capture
{

/// A number for a stream of a GPU.
inline int64_t
StreamKey(int device, int64_t stream)
{
    return stream * 64 + device; // kMostDevices
}

/// Streams by StreamKey(). Under MemoryLock().
class StreamOrder
{
  public:
    /// An operator or a collective.
    void Give(int64_t stream);
    /// A place behind all that the stream was given until now.
    uint64_t Issue(int64_t stream);
    bool HasPassed(int64_t stream, uint64_t ticket) const;

    void Record(int64_t event, int64_t stream);
    void Wait(int64_t event, int64_t stream);
    /// `stream` waits for all that `other` was given until now.
    void Follow(int64_t stream, int64_t other);

    void ProgramWaitsForEvent(int64_t event);
    void ProgramWaitsForStream(int64_t stream);
    void ProgramWaitsForDevice(int device);
    /// All streams of all GPUs.
    void ProgramWaitsForAll();

  private:
    /// Of each stream how many things that it was given are behind.
    using Clock = std::map<int64_t, uint64_t>;

    static void Merge(const Clock& from, Clock& to);

    Clock m_given;
    Clock m_passed;
    std::map<int64_t, Clock> m_streams; ///< what each stream has waited for, and its own
    std::map<int64_t, Clock> m_events;
};

StreamOrder& Streams();

} // namespace capture

#endif // CAPTURE_STREAM_ORDER_H
