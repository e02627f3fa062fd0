/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of a process, as its program sees it: it moves when the program waits for a GPU. From
 * the first call of CUDA or NCCL on, clock_gettime and its like tell this time (interpose.cc).
 */
#ifndef CUDA_CLOCK_H
#define CUDA_CLOCK_H

#include "settings.h"

#include <ctime>

namespace gpus
{

/// Simulated time of this process; 0 when it began.
Time Now();

/// The program waited until then; in the past: nothing happens.
void AdvanceTo(Time then);

/// This machine's monotonic clock, ps.
Time RealNow();

/// What happens on this machine until the end of the scope takes the program no time.
class Outside
{
  public:
    Outside();
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

  private:
    const Time m_begin;
};

/// From now on programs are told simulated time.
void StartClock();

/// Whether the program is told simulated time.
bool ClockRuns();

/// What the program's clock of this kind tells, ps: this machine's when simulated time began, and
/// what has passed since.
Time Told(clockid_t clock);

/// The program looked at its clock. One that looks again and again, and calls nothing of CUDA,
/// waits for time to pass: then it does.
void Looked();

/// The program called CUDA.
void Called();

} // namespace gpus

#endif // CUDA_CLOCK_H
