/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "settings.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace gpus
{

namespace
{

/// The first of these variables that is set to a number; else `otherwise`.
int
Variable(std::initializer_list<const char*> names, int otherwise)
{
    for (const char* name : names)
    {
        const char* text = std::getenv(name);
        char* end = nullptr;
        if (text && *text)
        {
            const long value = std::strtol(text, &end, 10);
            if (*end == '\0' && value >= 0)
            {
                return static_cast<int>(value);
            }
        }
    }
    return otherwise;
}

void
Set(Settings* s, const std::string& key, const std::string& value)
{
    const double number = std::strtod(value.c_str(), nullptr);
    const auto whole = static_cast<int>(number);
    if (key == "socket")
    {
        s->socket = value;
    }
    else if (key == "memory")
    {
        s->memory = value;
    }
    else if (key == "records")
    {
        s->records = value;
    }
    else if (key == "name")
    {
        s->name = value;
    }
    else if (key == "gpus")
    {
        s->gpus = whole;
    }
    else if (key == "servers")
    {
        s->servers = whole;
    }
    else if (key == "major")
    {
        s->major = whole;
    }
    else if (key == "minor")
    {
        s->minor = whole;
    }
    else if (key == "multiprocessors")
    {
        s->multiprocessors = whole;
    }
    else if (key == "bytes")
    {
        s->bytes = std::strtoull(value.c_str(), nullptr, 10);
    }
    else if (key == "keep")
    {
        s->keep = std::strtoull(value.c_str(), nullptr, 10);
    }
    else if (key == "clock")
    {
        s->clock = value == "measured" ? ClockMode::kMeasured
                   : value == "off"    ? ClockMode::kOff
                                       : ClockMode::kSimulated;
    }
    else if (key == "launch_us")
    {
        s->launch = static_cast<Time>(number * 1e6 + 0.5);
    }
    else if (key == "host_link")
    {
        s->hostLink = number;
    }
    else if (key == "memory_rate")
    {
        s->memoryRate = number;
    }
    else if (key == "kernel")
    {
        // "US PATTERN": a name has spaces.
        const std::size_t space = value.find(' ');
        s->kernels.emplace_back(value.substr(space + 1), static_cast<Time>(number * 1e6 + 0.5));
    }
}

int
ServerAmong(const Settings& settings, int rank)
{
    return static_cast<int>(static_cast<int64_t>(rank) * settings.servers / settings.world);
}

Settings
Read()
{
    Settings settings;
    const char* path = std::getenv("DLTRAIN_CUDA");
    if (!path)
    {
        Fail("this program was linked to simulated GPUs and started without them; start it with: "
             "./ns3 capture PROGRAM");
    }
    std::ifstream file(path);
    if (!file)
    {
        Fail(std::string("the capture that this program belongs to has ended (") + path +
             " is not there)");
    }
    std::string line;
    while (std::getline(file, line))
    {
        const std::size_t space = line.find(' ');
        Set(&settings, line.substr(0, space), line.substr(space + 1));
    }
    settings.rank =
        Variable({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}, -1);
    settings.world = Variable({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE"},
                              settings.rank + 1);
    if (settings.rank >= 0 && settings.world > 0)
    {
        settings.server = ServerAmong(settings, settings.rank);
    }
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    {
        // As CUDA does: up to the first word that is no GPU.
        std::istringstream words(visible);
        std::string word;
        while (std::getline(words, word, ','))
        {
            char* end = nullptr;
            const long gpu = std::strtol(word.c_str(), &end, 10);
            if (end == word.c_str() || *end != '\0' || gpu < 0 || gpu >= settings.gpus)
            {
                break;
            }
            settings.visible.push_back(static_cast<int>(gpu));
        }
    }
    else
    {
        for (int gpu = 0; gpu < settings.gpus; ++gpu)
        {
            settings.visible.push_back(gpu);
        }
    }
    return settings;
}

} // namespace

const Settings&
TheSettings()
{
    static const Settings settings = Read();
    return settings;
}

int
ServerOf(int rank)
{
    return ServerAmong(TheSettings(), rank);
}

void
Fail(const std::string& text)
{
    std::fflush(stdout);
    std::fprintf(stderr, "%s: error: %s\n", program_invocation_short_name, text.c_str());
    std::fflush(stderr);
    // No destructors: other threads are at work.
    _exit(1);
}

} // namespace gpus
