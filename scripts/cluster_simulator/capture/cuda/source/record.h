/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The raw record of a process: a file of JSON lines in the order in which the program issued them,
 * for recording.py. Keys: t (what), g (GPU of the server), s (its stream), p (place).
 */
#ifndef CUDA_RECORD_H
#define CUDA_RECORD_H

#include <cstdint>
#include <string>

namespace gpus
{

struct Stream;

/// `more`: further members, ', "us": 3'. With the machine's mutex held, as all of these.
void Record(const char* what, const Stream& stream, const std::string& more);
void RecordAt(const std::string& place,
              const char* what,
              const Stream& stream,
              const std::string& more);
void RecordEvent(const Stream& stream, uint64_t moment);
void RecordWait(const Stream& stream, uint64_t moment);
/// The program waits for a stream, for a GPU (stream -1), or for a moment.
void RecordSync(int gpu, int stream, uint64_t moment);
/// "begin" or "end": what the program marked as a step.
void RecordMark(const char* which);

/// Text as JSON has it, with its quotes.
std::string Quoted(const std::string& text);

} // namespace gpus

#endif // CUDA_RECORD_H
