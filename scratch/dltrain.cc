// Stands in until the program is written, so that the set-up can be tested.
#include "contrib/rdma/core/units.h"

#include "ns3/core-module.h"

#include <csignal>
#include <iostream>
#include <string>
#include <unistd.h>

int
main(int argc, char* argv[])
{
    for (int i = 1; i < argc; i++)
    {
        if (std::string(argv[i]) == "--bad")
        {
            std::cerr << "bad input\n";
            return 2;
        }
        if (std::string(argv[i]) == "--wait")
        {
            std::signal(SIGINT, [](int) { _exit(130); });
            std::cout << "waiting" << std::endl;
            for (;;)
            {
                pause();
            }
        }
    }
    std::cout << "dltrain placeholder\n";
    return 0;
}
