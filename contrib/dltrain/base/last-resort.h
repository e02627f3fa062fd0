/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LAST_RESORT_H
#define DLTRAIN_LAST_RESORT_H

#include <functional>
#include <string>

namespace dltrain
{

/// From now on memory that cannot be had, an exception nobody caught and ns-3's fatal errors end
/// the process with one error and status 1, after a LastResort. If the address space is limited
/// (ulimit -v), threads share memory: each would take 64 MiB of its own, used or not.
void CatchTermination();

/**
 * What completes the results if the program has to end in the middle of an event: called with why,
 * returns the exit status. The stack below is not unwound, so it may look at the simulation and
 * write, but not go on. One at a time; it is taken back when this goes.
 */
class LastResort
{
  public:
    explicit LastResort(std::function<int(const std::string&)> finish);
    ~LastResort();

    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;
};

} // namespace dltrain

#endif // DLTRAIN_LAST_RESORT_H
