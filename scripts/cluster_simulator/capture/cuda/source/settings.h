/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the capture tells a program's processes: a file of lines "key value", named by DLTRAIN_CUDA.
 */
#ifndef CUDA_SETTINGS_H
#define CUDA_SETTINGS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpus
{

using Time = int64_t; ///< picoseconds

enum class ClockMode
{
    kSimulated, ///< the program's own work takes no time
    kMeasured,  ///< it takes what it takes on this machine
    kOff        ///< the program sees this machine's clock
};

struct Settings
{
    std::string socket;  ///< of the coordinator
    std::string memory;  ///< folder for the memory of GPUs, which processes share
    std::string records; ///< folder
    std::string name = "GPU";
    int gpus = 8; ///< of a server
    int servers = 1;
    int major = 8;
    int minor = 0;
    int multiprocessors = 108;
    uint64_t bytes = 0; ///< of a GPU
    uint64_t keep = 0;  ///< larger allocations have no contents
    ClockMode clock = ClockMode::kSimulated;
    Time launch = 0;                                   ///< of a kernel whose time nobody knows
    double hostLink = 1;                               ///< bytes/s
    double memoryRate = 1;                             ///< bytes/s, reads and writes together
    std::vector<std::pair<std::string, Time>> kernels; ///< pattern of a name, its time

    // Of the process, by what its launcher says:
    int rank = -1; ///< -1: not started as one of several
    int world = 1;
    int server = 0;
    std::vector<int> visible; ///< GPUs of the server, as CUDA_VISIBLE_DEVICES has them
};

/// Ends the program if it was not started by a capture.
const Settings& TheSettings();

/// The server that a rank's process is on.
int ServerOf(int rank);

/// Ends the program with an error: "prog: error: TEXT".
[[noreturn]] void Fail(const std::string& text);

} // namespace gpus

#endif // CUDA_SETTINGS_H
