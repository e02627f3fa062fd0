/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "communication.h"

#include "places.h"
#include "record.h"
#include "values.h"
#include "wire.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>
#include <unordered_map>

namespace gpus
{

namespace
{

class Communication;

struct Told
{
    std::unordered_map<uint64_t, Communication*> under; ///< ways, by their numbers
    std::map<uint64_t, ncclComm*> asked;
    uint64_t calls = 0;
    uint64_t requests = 0;
    bool listens = false;
};

/// With the machine's mutex held.
Told&
TheTold()
{
    static Told& told = *new Told;
    return told;
}

std::string
Buffer(Memory& memory, const void* at)
{
    const Allocation* found = at ? memory.Find(at) : nullptr;
    if (!found || found->gpu < 0)
    {
        return "-";
    }
    return std::to_string(memory.OffsetOf(at)) + (found->kept ? "k" : "n") +
           (found->written ? "w" : "u");
}

/// On its stream: tells that it is there, and waits to be told when it ends.
class Communication : public Work
{
  public:
    Communication(uint64_t number, std::vector<Operation> operations)
        : m_number(number),
          m_operations(std::move(operations))
    {
        TheTold().under[number] = this;
    }

    ~Communication() override
    {
        TheTold().under.erase(m_number);
    }

    Ran Run(Stream& stream) override
    {
        if (m_done)
        {
            stream.ready = m_end;
            return Ran::kDone;
        }
        if (!m_told)
        {
            m_told = true;
            Memory& memory = Machine::Get().memory();
            std::ostringstream line;
            line << "arrive " << m_number << " " << std::max(stream.ready, issued);
            for (const Operation& operation : m_operations)
            {
                line << " " << Buffer(memory, operation.send) << ":"
                     << Buffer(memory, operation.receive);
            }
            Tell(line.str());
        }
        return Ran::kWaits;
    }

    void End(Time end, bool wrote)
    {
        m_done = true;
        m_end = end;
        for (const Operation& operation : m_operations)
        {
            Allocation* target = wrote ? Machine::Get().memory().Find(operation.receive) : nullptr;
            if (target)
            {
                target->written = true;
            }
        }
    }

  private:
    const uint64_t m_number;
    const std::vector<Operation> m_operations;
    bool m_told = false;
    bool m_done = false;
    Time m_end = 0;
};

/// "PROCESS:OFFSET"
char*
AddressOf(const std::string& word)
{
    char* end = nullptr;
    const long process = std::strtol(word.c_str(), &end, 10);
    return Machine::Get().memory().At(static_cast<int>(process),
                                      std::strtoull(end + 1, nullptr, 10));
}

/// What the coordinator wants done with bytes, words after "work NUMBER":
///     copy BYTES FROM TO FROM TO ... ;
///     reduce TYPE HOW COUNT SOURCES SOURCE ... TARGETS TARGET ... ;
/// HOW is sum, prod, max, min, avg, or premul=SCALE=SCALE...
void
DoWork(const std::vector<std::string>& words)
{
    for (std::size_t i = 2; i < words.size(); ++i)
    {
        if (words[i] == "copy")
        {
            const std::size_t bytes = std::strtoull(words[++i].c_str(), nullptr, 10);
            // Targets may be sources of others: all are read before any is written.
            std::vector<std::pair<char*, std::vector<char>>> moved;
            while (words[++i] != ";")
            {
                const char* from = AddressOf(words[i]);
                char* to = AddressOf(words[++i]);
                if (from != to)
                {
                    moved.emplace_back(to, std::vector<char>(from, from + bytes));
                }
            }
            for (const auto& [to, content] : moved)
            {
                std::memcpy(to, content.data(), bytes);
            }
            continue;
        }
        const int type = std::atoi(words[++i].c_str());
        const std::string how = words[++i];
        const std::size_t count = std::strtoull(words[++i].c_str(), nullptr, 10);
        std::vector<const char*> sources(std::strtoull(words[++i].c_str(), nullptr, 10));
        for (const char*& source : sources)
        {
            source = AddressOf(words[++i]);
        }
        std::vector<char*> targets(std::strtoull(words[++i].c_str(), nullptr, 10));
        for (char*& target : targets)
        {
            target = AddressOf(words[++i]);
        }
        ++i; // ;
        std::vector<double> scales;
        for (std::size_t at = how.find('='); at != std::string::npos; at = how.find('=', at + 1))
        {
            scales.push_back(std::strtod(how.c_str() + at + 1, nullptr));
        }
        Reduce(type,
               how == "prod"  ? Reduction::kProd
               : how == "max" ? Reduction::kMax
               : how == "min" ? Reduction::kMin
               : how == "avg" ? Reduction::kAvg
                              : Reduction::kSum,
               scales,
               sources,
               targets,
               count);
    }
}

/// Lines of the coordinator.
bool
Take(const std::vector<std::string>& words, Machine::Lock&)
{
    Told& told = TheTold();
    const std::string& what = words[0];
    const uint64_t number = words.size() > 1 ? std::strtoull(words[1].c_str(), nullptr, 10) : 0;
    if (what == "go") // CALL END WROTE
    {
        const auto found = told.under.find(number);
        if (found != told.under.end())
        {
            found->second->End(std::strtoll(words[2].c_str(), nullptr, 10), words[3] == "1");
        }
        return true;
    }
    if (what == "work")
    {
        DoWork(words);
        Tell("worked " + words[1]);
        return true;
    }
    if (what == "comm") // REQUEST ID RANK RANKS
    {
        ncclComm* comm = told.asked[number];
        told.asked.erase(number);
        comm->id = std::strtoll(words[2].c_str(), nullptr, 10);
        comm->rank = std::atoi(words[3].c_str());
        comm->ranks = std::atoi(words[4].c_str());
        comm->gone = comm->id < 0;
        return true;
    }
    return false;
}

void
Listen()
{
    Told& told = TheTold();
    if (!told.listens)
    {
        told.listens = true;
        Machine::Get().Listen(Take);
    }
}

constexpr const char* kReductions[] = {"sum", "prod", "max", "min", "avg"};

/// "KIND,COUNT,TYPE,REDUCTION,ROOT,PLACE"
std::string
Describe(const Operation& operation)
{
    std::ostringstream text;
    text.precision(17);
    text << operation.kind << "," << operation.count << "," << operation.type << ",";
    if (operation.reduction >= ncclNumOps)
    {
        text << "premul=" << operation.scale;
    }
    else
    {
        text << (operation.reduction < 0 ? "-" : kReductions[operation.reduction]);
    }
    text << "," << operation.root << "," << operation.place;
    return text.str();
}

/// One collective, or all messages of a group, on one stream.
void
IssueOne(ncclComm* comm, std::vector<Operation> operations)
{
    Machine& machine = Machine::Get();
    Stream* stream = operations.front().stream;
    machine.Issue(stream, [&machine, comm, operations](Stream* on) {
        const uint64_t number = ++TheTold().calls;
        std::ostringstream line;
        std::ostringstream record;
        line << "call " << number << " " << comm->id << " " << comm->rank;
        record << ", \"comm\": " << comm->id << ", \"rank\": " << comm->rank << ", \"ops\": [";
        for (const Operation& operation : operations)
        {
            line << " " << Describe(operation);
            record << (&operation == &operations.front() ? "" : ", ")
                   << Quoted(Describe(operation));
        }
        Record("nccl", *on, record.str() + "]");
        Tell(line.str());
        machine.Add(on, std::make_unique<Communication>(number, operations));
    });
}

} // namespace

void
Communicate(ncclComm* comm, const std::vector<Operation>& operations)
{
    Listen();
    Machine& machine = Machine::Get();
    // NCCL makes one kernel of a group, which waits for all streams that the group names, and which
    // those wait for.
    Stream* stream = operations.front().stream;
    std::vector<Stream*> others;
    for (const Operation& operation : operations)
    {
        if (operation.stream != stream &&
            std::find(others.begin(), others.end(), operation.stream) == others.end())
        {
            others.push_back(operation.stream);
        }
    }
    for (Stream* other : others)
    {
        machine.WaitFor(stream, machine.RecordMoment(other));
    }
    std::vector<Operation> messages;
    for (Operation operation : operations)
    {
        operation.stream = stream;
        if (operation.IsMessage())
        {
            messages.push_back(std::move(operation));
        }
        else
        {
            IssueOne(comm, {std::move(operation)});
        }
    }
    if (!messages.empty())
    {
        IssueOne(comm, std::move(messages));
    }
    for (Stream* other : others)
    {
        machine.WaitFor(other, machine.RecordMoment(stream));
    }
}

uint64_t
Ask(const std::string& kind, const std::string& question, ncclComm* comm)
{
    Listen();
    Told& told = TheTold();
    const uint64_t number = ++told.requests;
    told.asked[number] = comm;
    Tell(kind + " " + std::to_string(number) + " " + question);
    return number;
}

void
Await(Machine::Lock& lock, const std::vector<uint64_t>& requests)
{
    Machine::Get().WaitUntil(lock, [&requests](Time*) {
        const auto& asked = TheTold().asked;
        return std::none_of(requests.begin(), requests.end(), [&asked](uint64_t number) {
            return asked.count(number) != 0;
        });
    });
}

void
Mistake(Machine::Lock& lock,
        const std::string& kind,
        const std::string& place,
        const std::string& text)
{
    Tell("mistake " + kind + " " + place + " " + Word(text));
    // Until the coordinator ends the job.
    lock.unlock();
    for (;;)
    {
        pause();
    }
}

} // namespace gpus
