/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lines to and from the coordinator of the capture, which knows all processes of the job
 * (coordinator.py has what they say). Words are separated by spaces.
 */
#ifndef CUDA_WIRE_H
#define CUDA_WIRE_H

#include <functional>
#include <string>

namespace gpus
{

/// Connects, and begins to receive: `take` is called with each line, on a thread of its own (a
/// second one reads). The coordinator's end ends the program.
void Connect(std::function<void(const std::string&)> take);

/// Sends a line.
void Tell(const std::string& line);

} // namespace gpus

#endif // CUDA_WIRE_H
